#pragma once

/// The errors that every part throws. One small tree: catch `mk::error` to catch all of them.

#include <stdexcept>
#include <string>

namespace mk {

/// Root of all errors of the library. `what()` names the operation, tensor, axis, value and limit concerned.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A graph, or one of its nodes, was put together wrongly (shape, data type, axis, unknown or foreign value).
struct graph_error : error {
  using error::error;
};

/// Bytes that claim to be a program are not one, or describe a program that must not run.
struct program_error : error {
  using error::error;
};

/// A submission does not fit its program (missing binding, length over capacity, index out of range).
struct submit_error : error {
  using error::error;
};

/// A device stopped: a wait gave up, or the device itself failed.
struct device_error : error {
  using error::error;
};

/// A file from outside (weights, tokenizer data) is malformed or not supported. Names file and place.
struct file_error : error {
  using error::error;
};

} // namespace mk
