# Install rules. A user's project says find_package(megakernels COMPONENTS scheduler runtime) and links
# megakernels::scheduler and megakernels::runtime.

include(CMakePackageConfigHelpers)

set(destination "${CMAKE_INSTALL_LIBDIR}/cmake/megakernels")

# Folders named `internal` hold what only sources include.
install(DIRECTORY tylo ops scheduler runtime DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/megakernels"
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh" PATTERN internal EXCLUDE)
install(EXPORT megakernels NAMESPACE megakernels:: FILE megakernels-targets.cmake DESTINATION "${destination}")

install(FILES cmake/megakernels-add-kernel.cmake DESTINATION "${destination}")

configure_package_config_file(cmake/megakernels-config.cmake.in "${PROJECT_BINARY_DIR}/megakernels-config.cmake"
  INSTALL_DESTINATION "${destination}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/megakernels-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/megakernels-config.cmake" "${PROJECT_BINARY_DIR}/megakernels-config-version.cmake"
  DESTINATION "${destination}")
