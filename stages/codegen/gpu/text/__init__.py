"""Write the loops of a GPU as kernels of CUDA and HIP."""
