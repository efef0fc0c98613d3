# Filled by the packaging work.
