"""What the checker looks at, one subject a module; `bench/checker.py` puts them together. All pure."""
