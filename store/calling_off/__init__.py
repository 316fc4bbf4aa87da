"""An event does not take place: canceled, and all money goes back, or moved, and its orders go along."""
