"""Every way people publish for selling seats under contention, beside onsale. See docs/strategies.md."""
