"""The dimensions, offsets and types of fields that many tests have."""

import fieldforge as ff

I, J, K = ff.Dimension("I"), ff.Dimension("J"), ff.Dimension("K", ff.DimensionKind.VERTICAL)
Cell, Edge, Vertex = ff.Dimension("Cell"), ff.Dimension("Edge"), ff.Dimension("Vertex")


def local(name: str) -> ff.Dimension:
    """Return the dimension of the neighbours by an offset."""
    return ff.Dimension(name, ff.DimensionKind.LOCAL)


C2EDim, C2VDim, C2CDim, C2E2CDim = local("C2E"), local("C2V"), local("C2C"), local("C2E2C")
E2VDim, E2CDim, V2EDim = local("E2V"), local("E2C"), local("V2E")
C2E = ff.FieldOffset("C2E", source=Edge, target=(Cell, C2EDim))
C2V = ff.FieldOffset("C2V", source=Vertex, target=(Cell, C2VDim))
C2C = ff.FieldOffset("C2C", source=Cell, target=(Cell, C2CDim))
E2V = ff.FieldOffset("E2V", source=Vertex, target=(Edge, E2VDim))
E2C = ff.FieldOffset("E2C", source=Cell, target=(Edge, E2CDim))
V2E = ff.FieldOffset("V2E", source=Edge, target=(Vertex, V2EDim))
Koff = ff.FieldOffset("Koff", source=K, target=(K,))

Line = ff.Field[ff.Dims[I], ff.float64]
Column = ff.Field[ff.Dims[K], ff.float64]
Plane = ff.Field[ff.Dims[I, J], ff.float64]
Levels = ff.Field[ff.Dims[I, J, K], ff.float64]
