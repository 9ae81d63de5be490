"""Write CUDA and HIP: kernels, and the plan of their launches as data."""
