#pragma once

/// All operations of the library, and the lists that it ships. A smaller list makes a smaller kernel.

#include <megakernels/ops/add/add.hpp>
#include <megakernels/ops/attention/attention.hpp>
#include <megakernels/ops/embedding/embedding.hpp>
#include <megakernels/ops/kv_append/kv_append.hpp>
#include <megakernels/ops/linear/linear.hpp>
#include <megakernels/ops/merge/merge.hpp>
#include <megakernels/ops/operation_list.hpp>
#include <megakernels/ops/rms_norm/rms_norm.hpp>
#include <megakernels/ops/rope/rope.hpp>
#include <megakernels/ops/sample/sample.hpp>
#include <megakernels/ops/silu_mul/silu_mul.hpp>
#include <megakernels/ops/softmax/softmax.hpp>

namespace mk {

/// For tests: one operation of each kind (element by element, a sum over rows, a product).
using small_list = operation_list<add, rms_norm, linear>;

/// What decode and prefill of a model of the Llama family need.
using llama_list =
    operation_list<embedding, rms_norm, linear, rope, kv_append, attention, merge, silu_mul, add, sample>;

/// Everything.
using full_list =
    operation_list<embedding, rms_norm, linear, rope, kv_append, attention, merge, silu_mul, add, softmax, sample>;

inline constexpr operation_table small_operations = small_list::table;
inline constexpr operation_table llama_operations = llama_list::table;
inline constexpr operation_table full_operations = full_list::table;

} // namespace mk
