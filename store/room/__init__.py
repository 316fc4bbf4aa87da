"""The waiting room in Postgres: who has a place, the draw, who is admitted, what is wished for."""
