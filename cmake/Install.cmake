# A relocatable installation: headers, library, and the packages Cresset and Torch.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

include(compat/forwarding.cmake)
add_library(cresset_compat INTERFACE)
set_target_properties(cresset_compat PROPERTIES EXPORT_NAME compat)
target_include_directories(cresset_compat INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/compat/include> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/compat>
                                                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/cresset-compat>)
# Programs that use no distributions are linked without them.
target_link_libraries(cresset_compat INTERFACE cresset -Wl,--push-state,--as-needed cresset_distributions cresset_dist cresset_graph cresset_profile -Wl,--pop-state)
add_library(Cresset::cresset ALIAS cresset)
add_library(Cresset::compat ALIAS cresset_compat)
add_library(Cresset::distributions ALIAS cresset_distributions)
add_library(Cresset::graph ALIAS cresset_graph)
add_library(Cresset::compile ALIAS cresset_compile)
add_library(Cresset::dist ALIAS cresset_dist)
add_library(Cresset::profile ALIAS cresset_profile)

set(installed cresset cresset_distributions cresset_graph cresset_compile cresset_dist cresset_profile)
install(TARGETS ${installed} cresset_compat EXPORT CressetTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS cresset_run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Opened from the folder that the library lies in.
foreach(provider cresset_onednn cresset_lapack cresset_image cresset_gloo cresset_mpi cresset_etcd cresset_llvm)
  if(TARGET ${provider})
    install(TARGETS ${provider} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    list(APPEND installed ${provider})
  endif()
endforeach()
# Their neighbours lie in the same folder, wherever that is.
set_target_properties(${installed} PROPERTIES INSTALL_RPATH "$ORIGIN")
# All that `cmake --install` takes, for a build of nothing else.
add_custom_target(cresset_installed DEPENDS ${installed} cresset_run)
foreach(room base core dispatch kernels ops autograd nn optim data io dist transform train distributions graph profile python)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/cresset/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cresset FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/cresset/cresset.h ${CMAKE_SOURCE_DIR}/cresset/distributions.h ${CMAKE_SOURCE_DIR}/cresset/sparse.h ${CMAKE_SOURCE_DIR}/cresset/tensor.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cresset)
install(DIRECTORY ${CMAKE_BINARY_DIR}/generated/cresset/ops/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cresset/ops
        FILES_MATCHING PATTERN "functions.h" PATTERN "list_functions.h" PATTERN "namespaces.h" PATTERN "op_structs.h" PATTERN "*.inc")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/compat/include/ ${CMAKE_BINARY_DIR}/compat/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cresset-compat)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/cresset)

set(CRESSET_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Cresset)
set(CRESSET_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR})
set(CRESSET_COMPAT_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/cresset-compat)
install(EXPORT CressetTargets NAMESPACE Cresset:: DESTINATION ${CRESSET_CMAKE_DIR})
configure_package_config_file(cmake/CressetConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/CressetConfig.cmake INSTALL_DESTINATION ${CRESSET_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/CressetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/CressetConfig.cmake ${CMAKE_BINARY_DIR}/cmake/CressetConfigVersion.cmake DESTINATION ${CRESSET_CMAKE_DIR})
configure_package_config_file(compat/TorchConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/TorchConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Torch
                              PATH_VARS CRESSET_CMAKE_DIR CRESSET_INCLUDE_DIR CRESSET_COMPAT_INCLUDE_DIR CMAKE_INSTALL_PREFIX)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/TorchConfigVersion.cmake VERSION 2.13.0 COMPATIBILITY AnyNewerVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/TorchConfig.cmake ${CMAKE_BINARY_DIR}/cmake/TorchConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Torch)
