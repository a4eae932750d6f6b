#pragma once

/// Programs as bytes: a versioned little-endian encoding with a hash over everything.

#include <megakernels/scheduler/program/program.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mk {

/// Version of the encoding that this library writes; the only one that it reads.
inline constexpr std::uint32_t program_version = 3;

/// FNV-1a over 64 bits.
std::uint64_t hash_of(std::span<std::byte const>);

std::vector<std::byte> encode(program const&);

/// Reads a program back. Throws program_error, naming the byte offset, for anything that is not an intact encoding of
/// this version; allocates no more than the bytes can hold. The result is well-formed as data only: `verify` decides
/// whether it may run.
program decode(std::span<std::byte const>);

} // namespace mk
