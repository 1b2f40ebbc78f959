gpuprof_unit_test(backend LINK gpuprof_backend)
