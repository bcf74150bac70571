"""Functions and classes in the calls of other packages: pcgpu.recipes.point_sampling, .voxel_generator, .gicp, .folder_dataset."""
