# megakernels_add_kernel(NAME OPERATIONS type... [HEADERS header...] [GROUPS n])
#
# A static library NAME with the persistent kernel for a list of operations, such as mk::linear, in this order: for the
# emulator, and for CUDA where the project has it. The
# library's header <megakernels/kernels/NAME.hpp> declares `mk::kernel_instance const& mk::kernels::NAME()`.
# Handlers of the library's own operations (mk::linear: megakernels/ops/linear/handler.hpp) are included by themselves;
# HEADERS are those of other operations. GROUPS is the number of consumer warpgroups of a worker, 1 to 3; 2 if not given.
function(megakernels_add_kernel name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "GROUPS" "OPERATIONS;HEADERS")
  if(NOT arg_OPERATIONS)
    message(FATAL_ERROR "megakernels_add_kernel(${name}): OPERATIONS are missing")
  endif()
  if(NOT arg_GROUPS)
    set(arg_GROUPS 2)
  endif()

  set(includes "")
  foreach(operation ${arg_OPERATIONS})
    if(operation MATCHES "^mk::([a-z0-9_]+)$")
      string(APPEND includes "#include <megakernels/ops/${CMAKE_MATCH_1}/${CMAKE_MATCH_1}.hpp>\n")
      string(APPEND includes "#include <megakernels/ops/${CMAKE_MATCH_1}/handler.hpp>\n")
    endif()
  endforeach()
  foreach(header ${arg_HEADERS})
    string(APPEND includes "#include <${header}>\n")
  endforeach()
  list(JOIN arg_OPERATIONS ", " operations)

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  file(CONFIGURE OUTPUT "${folder}/include/megakernels/kernels/${name}.hpp" @ONLY CONTENT [[
#pragma once
#include <megakernels/runtime/kernel_instance.hpp>
namespace mk::kernels {
kernel_instance const& @name@();
}
]])
  # A project that does not compile CUDA may use an install that has it.
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(has_cuda FALSE)
  if(TARGET megakernels::cuda AND "CUDA" IN_LIST languages)
    set(has_cuda TRUE)
  endif()
  set(cuda_half "nullptr")
  set(cuda_declaration "")
  if(has_cuda)
    set(cuda_half "&mk::kernels::detail::${name}_on_cuda()")
    set(cuda_declaration "namespace mk::kernels::detail { cuda_kernel const& ${name}_on_cuda(); }")
  endif()
  file(CONFIGURE OUTPUT "${folder}/${name}.cpp" @ONLY CONTENT [[
#include <megakernels/kernels/@name@.hpp>
@includes@
#include <megakernels/runtime/emulated/instance.hpp>

@cuda_declaration@

mk::kernel_instance const& mk::kernels::@name@() {
  static auto const instance =
      mk::emulated::instance_of<mk::operation_list<@operations@>, @arg_GROUPS@>("@name@", @cuda_half@);
  return instance;
}
]])
  file(CONFIGURE OUTPUT "${folder}/${name}.cu" @ONLY CONTENT [[
#include <megakernels/kernels/@name@.hpp>
@includes@
#include <megakernels/runtime/cuda/instance.cuh>

namespace mk::kernels::detail {
cuda_kernel const& @name@_on_cuda() { return mk::cuda::kernel_of<mk::operation_list<@operations@>, @arg_GROUPS@>(); }
}
]])
  add_library(${name} STATIC "${folder}/${name}.cpp")
  target_include_directories(${name} PUBLIC "${folder}/include")
  target_link_libraries(${name} PUBLIC megakernels::runtime PRIVATE megakernels::emulated_code)
  if(has_cuda)
    target_sources(${name} PRIVATE "${folder}/${name}.cu")
    target_link_libraries(${name} PUBLIC megakernels::cuda)
    # constexpr functions of the standard library (std::array, std::span) in device code
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  endif()
endfunction()
