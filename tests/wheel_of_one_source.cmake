# Included after `project()`: the extension is compiled from the file ONE_SOURCE alone.
function(compile_one_source)
  set_property(TARGET _core PROPERTY SOURCES "${ONE_SOURCE}")
  set_property(TARGET _core PROPERTY LINK_LIBRARIES "")
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER targets INCLUDE REGEX "^kernels_")
  set_property(TARGET ${targets} PROPERTY EXCLUDE_FROM_ALL TRUE)
endfunction()
cmake_language(DEFER CALL compile_one_source)
