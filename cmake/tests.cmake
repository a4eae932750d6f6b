find_package(GTest REQUIRED)
include(GoogleTest)

# mk_test(NAME [SOURCES file...] [LINKS target...] [TIMEOUT seconds])
# The tests of the folder as one executable, test-NAME, and one ctest test for each case, named NAME/Suite.Case and
# labelled NAME.
function(mk_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LINKS")
  if(NOT arg_SOURCES)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  mk_executable(test-${name} SOURCES ${arg_SOURCES} LINKS ${arg_LINKS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(test-${name} PRIVATE
    MK_SOURCE_DIR="${PROJECT_SOURCE_DIR}" MK_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden")
  gtest_discover_tests(test-${name}
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX ${name}/
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${name})
endfunction()
