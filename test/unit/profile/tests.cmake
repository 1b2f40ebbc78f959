gpuprof_unit_test(profile LINK gpuprof_profile gpuprof_base)
target_compile_definitions(unit_profile PRIVATE GPUPROF_FORMAT_PAGE="${PROJECT_SOURCE_DIR}/src/profile/FORMAT.md")
