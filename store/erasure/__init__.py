"""Erasing a buyer's personal data while every decision stays explained: see docs/erasure.md."""
