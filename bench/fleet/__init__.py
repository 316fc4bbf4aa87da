"""`./run bench fleet`: what buyers notice when events change hands, and how many one worker carries."""
