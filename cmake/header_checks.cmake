# Every public header compiles alone, and twice: one generated translation unit each, and one for nvcc where it may be
# included in device code.

# mk_header_checks(TARGET EXTENSION PART...): an object library with a translation unit for each header of the parts.
function(mk_header_checks target extension)
  foreach(part ${ARGN})
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/${part}/*.hpp")
    if(extension STREQUAL "cu")
      list(FILTER headers EXCLUDE REGEX "^tylo/emulator/internal/") # nvcc never sees them
    endif()
    if(NOT MK_EMULATOR)
      list(FILTER headers EXCLUDE REGEX "^(tylo/emulator/internal|runtime/emulated)/") # they include Boost's headers
    endif()
    if(NOT MK_CUDA)
      list(FILTER headers EXCLUDE REGEX "^runtime/cuda/internal/") # they include the CUDA runtime's headers
    endif()
    foreach(header ${headers})
      set(unit "${CMAKE_CURRENT_BINARY_DIR}/${header}.${extension}")
      file(CONFIGURE OUTPUT "${unit}" CONTENT "#include <megakernels/${header}>\n#include <megakernels/${header}>\n")
      list(APPEND units "${unit}")
    endforeach()
  endforeach()
  if(units)
    add_library(${target} OBJECT ${units})
    target_link_libraries(${target} PRIVATE megakernels::scheduler megakernels::runtime mk_settings
      $<TARGET_NAME_IF_EXISTS:mk_cuda>)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-O0> $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  endif()
endfunction()

mk_header_checks(mk-headers cpp tylo ops scheduler runtime)
if(MK_CUDA)
  mk_header_checks(mk-cuda-headers cu tylo)
  if(TARGET mk-cuda-headers)
    add_dependencies(cuda-checks mk-cuda-headers)
  endif()
endif()
