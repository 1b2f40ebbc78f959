gpuprof_unit_test(base LINK gpuprof_base)
