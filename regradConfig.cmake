include(CMakeFindDependencyMacro)
find_dependency(fmt 9)
find_dependency(Threads)

# The static libraries call OpenBLAS; its name must not stay behind in the user's own settings.
set(regrad_users_vendor "${BLA_VENDOR}")
set(BLA_VENDOR OpenBLAS)
find_package(BLAS QUIET)
set(BLA_VENDOR "${regrad_users_vendor}")
unset(regrad_users_vendor)
if(NOT BLAS_FOUND)
  set(regrad_FOUND FALSE)
  set(regrad_NOT_FOUND_MESSAGE
      "regrad needs OpenBLAS. On Debian or Ubuntu: apt install libopenblas-dev")
  return()
endif()

include("${CMAKE_CURRENT_LIST_DIR}/regradTargets.cmake")
