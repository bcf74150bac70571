# pcgpu with CUDA:    docker build -f tests/packages/docker/cuda.Dockerfile -t pcgpu-cuda .
#                     docker run --rm --gpus all -v "$PWD:/data" pcgpu-cuda sample --cuda -m 4096 scan.bin -o sampled.ply
# The runtime is linked statically, so that the second image needs no toolkit; the driver comes from the host.
FROM nvidia/cuda:13.0.1-devel-ubuntu24.04 AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends g++ meson ninja-build pkg-config python3 libyaml-dev zlib1g-dev libpng-dev libzstd-dev liblz4-dev libbz2-dev libsqlite3-dev \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN meson setup /build /src -Dcuda=enabled -Dtests=false --prefix=/usr/local && DESTDIR=/out meson install -C /build --strip --tags runtime,man

FROM ubuntu:24.04
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends libyaml-0-2 zlib1g libpng16-16t64 libzstd1 liblz4-1 libbz2-1.0 libsqlite3-0 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/usr/local /usr/local
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /data
USER 65534:65534
ENTRYPOINT ["pcgpu"]
CMD ["--help"]
