# Included after `project()`: the extension is compiled from the file ONE_SOURCE alone.
cmake_language(DEFER CALL set_property TARGET _core PROPERTY SOURCES "${ONE_SOURCE}")
cmake_language(DEFER CALL set_property TARGET _core PROPERTY LINK_LIBRARIES "")
