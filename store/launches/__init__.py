"""A launch: an event with everything it needs, made in one sitting. All of it, or nothing."""
