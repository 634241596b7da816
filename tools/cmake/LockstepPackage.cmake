# What users install: the program, its module, catalog, manual page, completions and documents; and the packages made of
# it. Included after tools/. Components: program; mpi; development (headers, libraries, find_package); libraries (shared
# ones of this machine, only in the relocatable archive, which leaves out SimGrid's: where the system has none, the
# program takes its own solver, max_min).
set(programs lockstep)
if(TARGET lockstep-mpi)
  set(mpi_programs lockstep-mpi)
  set(CPACK_LOCKSTEP_MPI mpi)
endif()
file(RELATIVE_PATH modules "/${CMAKE_INSTALL_BINDIR}" "/${lockstep_module_folder}")
set_target_properties(${programs} ${mpi_programs} PROPERTIES INSTALL_RPATH "$ORIGIN/${modules}")
set_target_properties(lockstep_simgrid lockstep_http PROPERTIES INSTALL_RPATH "$ORIGIN")

set(shell_files ${PROJECT_BINARY_DIR}/shell_files)
file(MAKE_DIRECTORY ${shell_files})
add_custom_command(OUTPUT ${shell_files}/lockstep.1 ${shell_files}/scenario.schema.json ${shell_files}/lockstep.bash ${shell_files}/_lockstep ${shell_files}/lockstep.fish
  COMMAND lockstep manual > ${shell_files}/lockstep.1
  COMMAND lockstep schema > ${shell_files}/scenario.schema.json
  COMMAND lockstep completion bash > ${shell_files}/lockstep.bash
  COMMAND lockstep completion zsh > ${shell_files}/_lockstep
  COMMAND lockstep completion fish > ${shell_files}/lockstep.fish
  DEPENDS lockstep
  COMMENT "Writing the manual page and completions" VERBATIM)
add_custom_target(lockstep_shell_files ALL DEPENDS ${shell_files}/lockstep.1)

install(TARGETS ${programs} RUNTIME_DEPENDENCY_SET lockstep_needs RUNTIME COMPONENT program)
install(TARGETS lockstep_http RUNTIME_DEPENDENCY_SET lockstep_needs
  LIBRARY DESTINATION ${lockstep_module_folder} COMPONENT program)
install(TARGETS lockstep_simgrid
  LIBRARY DESTINATION ${lockstep_module_folder} COMPONENT program)
if(mpi_programs)
  install(TARGETS ${mpi_programs} RUNTIME COMPONENT mpi)
endif()
install(FILES ${shell_files}/scenario.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep COMPONENT program)
install(FILES ${shell_files}/lockstep.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${shell_files}/lockstep.bash RENAME lockstep
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES ${shell_files}/_lockstep DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${shell_files}/lockstep.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)

# One file of licences, since container images leave out all other documents: Lockstep's, those of the software that is compiled in
# or that the archive carries along, where Debian's packages of it say so, and those of the page's scripts.
set(notices ${PROJECT_BINARY_DIR}/third_party_notices.txt)
set(text "")
foreach(package nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libspdlog-dev libfmt-dev libyaml-cpp-dev libexpat1-dev
        libnlopt-dev libsqlite3-dev zlib1g-dev libcpp-httplib-dev)
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(READ /usr/share/doc/${package}/copyright notice)
    string(APPEND text "\n---- ${package}\n\n${notice}\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${notices} CONTENT "\nSoftware of others in this package:\n@text@" @ONLY)
set(bundled_pages ${PROJECT_BINARY_DIR}/tools/report/bundled)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/copyright
  COMMAND ${CMAKE_COMMAND} -E cat ${PROJECT_SOURCE_DIR}/LICENSE ${notices} ${bundled_pages}/third_party_in_report.txt > ${PROJECT_BINARY_DIR}/copyright
  DEPENDS ${PROJECT_SOURCE_DIR}/LICENSE ${notices} ${bundled_pages}/third_party_in_report.txt VERBATIM)
add_custom_target(lockstep_copyright ALL DEPENDS ${PROJECT_BINARY_DIR}/copyright)
add_dependencies(lockstep_copyright lockstep_report_page)

# The data root, laid out as in the source tree.
foreach(data topologies/catalog workloads/catalog scenarios)
  install(DIRECTORY ${data}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/${data} COMPONENT program
    FILES_MATCHING PATTERN "*.yaml" PATTERN "*.json" PATTERN "*.csv")
endforeach()
install(DIRECTORY tests/validation/data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/tests/validation/data
  COMPONENT program FILES_MATCHING PATTERN "*.csv")
install(DIRECTORY tools/python/lockstep DESTINATION lib/python3/dist-packages COMPONENT program
  PATTERN "__pycache__" EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/copyright README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT program)

# The C library and what belongs to the system's loader are never carried along.
install(RUNTIME_DEPENDENCY_SET lockstep_needs
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util)\\.so"
  LIBRARY DESTINATION ${lockstep_module_folder} COMPONENT libraries EXCLUDE_FROM_ALL)

set(CPACK_PACKAGE_VENDOR "The Lockstep authors")
set(CPACK_PACKAGE_CONTACT "The Lockstep authors <lockstep@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "discrete-event simulator of LLM-training clusters")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/LockstepCPack.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME lockstep)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME lockstep-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "lockstep (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_MPI_DESCRIPTION "sweeps and searches for plans over the ranks of an MPI job")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME lockstep-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "lockstep (= ${PROJECT_VERSION}), libboost-dev, libexpat1-dev, libspdlog-dev, libyaml-cpp-dev, nlohmann-json3-dev, zlib1g-dev, libnlopt-cxx-dev, libnlopt-dev, libsqlite3-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "headers, libraries and the CMake package lockstep")

include(CPack)

# ninja source_tarball: the last commit with the bundled pages, so that whoever builds from it needs no Node.js.
find_package(Git QUIET)
if(GIT_FOUND)
  set(root lockstep-${PROJECT_VERSION})
  add_custom_target(source_tarball
    COMMAND ${GIT_EXECUTABLE} archive --output=${PROJECT_BINARY_DIR}/${root}.tar.gz
      --prefix=${root}/tools/report/bundled/ --add-file=${bundled_pages}/report.html.gz --add-file=${bundled_pages}/explorer.html.gz
      --add-file=${bundled_pages}/third_party_in_report.txt --prefix=${root}/ HEAD
    DEPENDS ${bundled_pages}/report.html.gz WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "The source as a tarball" VERBATIM)
endif()
