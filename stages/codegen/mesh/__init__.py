"""What passes on all platforms know of nests on a mesh that hand arrays on."""
