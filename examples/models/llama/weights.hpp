#pragma once

/// The weights of a model file as constants of a session.

#include <megakernels/runtime/session.hpp>
#include <megakernels/runtime/weights/gguf.hpp>

#include <functional>

namespace mk::llama {

/// Called with the share that is loaded, from 0 to 1.
using progress = std::function<void(double)>;

/// Converts every tensor of the file to `type` (rotary divisors to fp32) and gives it to the session under its name in
/// the file. Throws file_error and submit_error as reading and `session::set_constant` do.
void load_weights(session&, gguf_file const&, data_type type, progress const& = {});

} // namespace mk::llama
