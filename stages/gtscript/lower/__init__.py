"""Turn the typed tree of a stencil into dataflow: values in place of assignments."""
