! The same in Fortran: tests/run/test_mpi.py compiles it with each MPI.
program mpi_program
    implicit none
    include 'mpif.h'
    integer :: rank, world, failed, step, i
    real(8) :: mine(1000), sums(1000)

    call mpi_init(failed)
    call mpi_comm_rank(mpi_comm_world, rank, failed)
    call mpi_comm_size(mpi_comm_world, world, failed)
    do step = 1, 50
        do i = 1, 1000
            mine(i) = rank + step
        end do
        call mpi_allreduce(mine, sums, 1000, mpi_double_precision, mpi_sum, mpi_comm_world, failed)
        if (sums(1000) /= world * step + world * (world - 1) / 2) call mpi_abort(mpi_comm_world, 3, failed)
    end do
    call mpi_barrier(mpi_comm_world, failed)
    call mpi_finalize(failed)
end program
