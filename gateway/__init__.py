"""What the world talks to: websocket and HTTP for buyers, operators and pages."""
