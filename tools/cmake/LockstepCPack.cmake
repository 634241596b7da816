# Read by CPack once for each kind of package. Debian packages: one for each component, under /usr, with the system's
# libraries as dependencies. The archive: the program with the libraries that it needs, to be unpacked anywhere.
cmake_minimum_required(VERSION 3.25)
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_COMPONENTS_ALL program development ${CPACK_LOCKSTEP_MPI})
else()
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_COMPONENTS_ALL program libraries)
endif()
