gpuprof_unit_test(cmd LINK gpuprof_cmd)
