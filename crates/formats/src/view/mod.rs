//! Pure functions from a plan to what is shown of it.
