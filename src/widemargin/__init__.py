"""Support vector machines that choose themselves."""
