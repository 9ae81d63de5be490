"""What runs stages: graphs, the engine, recipes, the decorators, the command line."""
