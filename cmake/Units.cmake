# Each unit of a target sees only the declarations of ops that it names (tools/declare_units.py, docs/records/0014-unit-declarations.md).
set(units_out ${CMAKE_BINARY_DIR}/units)
set_property(GLOBAL PROPERTY CRESSET_UNITS "")

# cresset_declare_units(target): call it in the folder that makes the target.
function(cresset_declare_units target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.cpp$")
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
      string(REPLACE "${CMAKE_BINARY_DIR}/generated/" "" unit ${source})
      string(REPLACE "${CMAKE_SOURCE_DIR}/" "" unit ${unit})
      string(REGEX REPLACE "\\.cpp$" "" unit ${unit})
      string(REPLACE "/" "_" unit ${unit})
      set_source_files_properties(${source} PROPERTIES INCLUDE_DIRECTORIES ${units_out}/${unit})
      set_property(GLOBAL APPEND PROPERTY CRESSET_UNITS ${source})
      set_property(GLOBAL APPEND PROPERTY CRESSET_UNIT_FILES ${units_out}/${unit}/cresset/ops/functions.h ${units_out}/${unit}/cresset/ops/tensor_methods.inc)
    endif()
  endforeach()
  add_dependencies(${target} cresset_units)
endfunction()

# After the last call of cresset_declare_units.
function(cresset_finish_units)
  get_property(sources GLOBAL PROPERTY CRESSET_UNITS)
  get_property(files GLOBAL PROPERTY CRESSET_UNIT_FILES)
  get_property(united GLOBAL PROPERTY CRESSET_UNITED)
  list(REMOVE_DUPLICATES sources)
  list(REMOVE_DUPLICATES files)
  list(JOIN sources "\n" lines)
  file(CONFIGURE OUTPUT units/sources.txt CONTENT "${lines}\n" @ONLY)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cresset/*.h ${CMAKE_SOURCE_DIR}/python/bind/*.h ${CMAKE_SOURCE_DIR}/tests/*.h)
  add_custom_command(
    OUTPUT ${files}
    COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/declare_units.py --root ${CMAKE_SOURCE_DIR}
            --generated ${CMAKE_BINARY_DIR}/generated --sources ${CMAKE_BINARY_DIR}/units/sources.txt --out ${units_out}
    DEPENDS ${sources} ${united} ${headers} ${CRESSET_GENERATED_HEADERS} ${CMAKE_SOURCE_DIR}/tools/declare_units.py ${CMAKE_BINARY_DIR}/units/sources.txt
    COMMENT "Declarations of ops for each unit"
    VERBATIM)
  add_custom_target(cresset_unit_files DEPENDS ${files})
  add_dependencies(cresset_units cresset_unit_files)
endfunction()
add_custom_target(cresset_units)
