# How every target of this project is compiled.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)

if(MK_CUDA)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90a-real)
  endif()
  enable_language(CUDA)
  # CMake 3.25 does not know that nvcc has C++20, and then silently compiles as C++17.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  # All that only a CUDA compiler can build.
  add_custom_target(cuda-checks)
endif()

# Warnings and sanitizers are for this project alone: users of the targets do not inherit them.
set(mk_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align
    -Wextra-semi -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  list(APPEND mk_warnings -Wno-restrict) # false alarms on std::string + literal, GCC bug 105651
endif()

add_library(mk_settings INTERFACE)
target_compile_features(mk_settings INTERFACE cxx_std_20)
target_compile_options(mk_settings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;${mk_warnings}>")
if(MK_CUDA)
  target_compile_options(mk_settings INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Werror;--Werror=all-warnings>")
endif()
if(MK_SANITIZE)
  # g++ sees dangers in instrumented code that are not in the code.
  target_compile_options(mk_settings INTERFACE
    -fsanitize=${MK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-error)
  target_link_options(mk_settings INTERFACE -fsanitize=${MK_SANITIZE})
endif()
