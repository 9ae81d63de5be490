"""Run stages: graphs, the engine, backends, decorated functions, the command line."""
