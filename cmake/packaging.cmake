# Install rules: written with the first public API.
