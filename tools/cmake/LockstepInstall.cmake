# Install and export: find_package(lockstep) gives lockstep::lockstep, all code folders in one target.
# Included after the code folders and before tools/, whose program is not a library. LockstepPackage.cmake installs that.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(exported GLOBAL PROPERTY LOCKSTEP_LIBRARIES)  # every lockstep_library() so far

add_library(lockstep_all INTERFACE)
add_library(lockstep::lockstep ALIAS lockstep_all)
set_target_properties(lockstep_all PROPERTIES EXPORT_NAME lockstep)
target_link_libraries(lockstep_all INTERFACE ${exported})

install(TARGETS lockstep_all ${exported} EXPORT lockstep_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lockstep)
install(EXPORT lockstep_targets NAMESPACE lockstep:: FILE lockstep-targets.cmake DESTINATION ${package_folder}
  COMPONENT development)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/lockstep-config.cmake.in ${PROJECT_BINARY_DIR}/lockstep-config.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstep-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/lockstep-config.cmake
  ${PROJECT_BINARY_DIR}/lockstep-config-version.cmake
  DESTINATION ${package_folder} COMPONENT development)

install(DIRECTORY sim topologies workloads DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep COMPONENT development
  FILES_MATCHING PATTERN "*.hpp"
  PATTERN "*_private.hpp" EXCLUDE
  PATTERN "sim/engine/simgrid" EXCLUDE
  PATTERN "sim/engine/load_simgrid.hpp" EXCLUDE
  PATTERN "catalog" EXCLUDE)
