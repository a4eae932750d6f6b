# The targets of the project: libraries that are installed (parts), and libraries and executables that are not.

include(GNUInstallDirs)

# <megakernels/ops/...> is the source folder ops/: the build tree has links, the installed tree copies.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include/megakernels")
foreach(part tylo ops scheduler runtime)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${part}" "${PROJECT_BINARY_DIR}/include/megakernels/${part}" SYMBOLIC)
endforeach()

# mk_library(NAME [SOURCES file...] [LINKS target...] [PRIVATE_LINKS target...])
# A static library of this project; without sources, an INTERFACE one.
function(mk_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS;PRIVATE_LINKS")
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS} $<BUILD_INTERFACE:mk_settings>)
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_LINKS} ${arg_PRIVATE_LINKS})
  endif()
endfunction()

# mk_part(NAME [SOURCES file...] [LINKS target...] [PRIVATE_LINKS target...])
# A part, installed as megakernels::NAME.
function(mk_part name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS;PRIVATE_LINKS")
  mk_library(mk_${name} SOURCES ${arg_SOURCES} LINKS ${arg_LINKS} PRIVATE_LINKS ${arg_PRIVATE_LINKS})
  add_library(megakernels::${name} ALIAS mk_${name})
  set_target_properties(mk_${name} PROPERTIES EXPORT_NAME ${name} OUTPUT_NAME megakernels_${name})

  get_target_property(type mk_${name} TYPE)
  set(scope PUBLIC)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  endif()
  target_include_directories(mk_${name} ${scope}
    "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(mk_${name} ${scope} cxx_std_20)
  # Results are the same bits on every machine: no product and sum are contracted, in users' translation units either.
  target_compile_options(mk_${name} ${scope} "$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>")

  if(MK_INSTALL)
    install(TARGETS mk_${name} EXPORT megakernels)
  endif()
endfunction()

# mk_executable(NAME [SOURCES file...] [LINKS target...])
function(mk_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  if(NOT arg_SOURCES)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} mk_settings)
endfunction()
