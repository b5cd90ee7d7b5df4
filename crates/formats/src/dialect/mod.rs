//! How a model sees the list: tools, arguments, results.
