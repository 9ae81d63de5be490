"""GTScript, the second language: from the text of a stencil to the dataflow IR."""
