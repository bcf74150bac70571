# pcgpu on the CPU:   docker build -f tests/packages/docker/cpu.Dockerfile -t pcgpu .
#                     docker run --rm -v "$PWD:/data" pcgpu sample -m 4096 scan.bin -o sampled.ply
FROM debian:12-slim AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev meson ninja-build pkg-config python3 libyaml-dev zlib1g-dev \
    libpng-dev libzstd-dev liblz4-dev libbz2-dev libsqlite3-dev && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN meson setup /build /src -Dcuda=disabled -Dtests=false --prefix=/usr/local && DESTDIR=/out meson install -C /build --strip --tags runtime,man

FROM debian:12-slim
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends libyaml-0-2 zlib1g libpng16-16 libzstd1 liblz4-1 libbz2-1.0 libsqlite3-0 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/usr/local /usr/local
WORKDIR /data
USER 65534:65534
ENTRYPOINT ["pcgpu"]
CMD ["--help"]
