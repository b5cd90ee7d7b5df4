//! Tests of what the model reads.
