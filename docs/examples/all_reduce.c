/* Four ranks of one machine sum an array. The parent makes the processes; rank 0 makes the unique
 * id and hands it to the others through pipes, as any launcher or file could.
 *
 *   cc all_reduce.c $(pkg-config --cflags --libs gyre) && ./a.out
 */
#include <gyre/gyre.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ranks = 4, count = 1000 };

static void require(gyre_status status) {
  if (status == GYRE_OK) return;
  fprintf(stderr, "%s: %s\n", gyre_status_name(status), gyre_last_error());
  exit(1);
}

static void run(int rank, int pipes[ranks][2]) {
  gyre_context_t context;
  gyre_comm_t comm;
  gyre_unique_id id;
  float values[count];
  gyre_buffer buffer = {values, GYRE_MEMORY_HOST};

  require(gyre_context_create(NULL, &context));
  if (rank == 0) {
    require(gyre_get_unique_id(context, &id));
    for (int peer = 1; peer < ranks; peer++)
      if (write(pipes[peer][1], &id, sizeof id) != (ssize_t)sizeof id) exit(1);
  } else if (read(pipes[rank][0], &id, sizeof id) != (ssize_t)sizeof id) {
    exit(1);
  }
  require(gyre_comm_create(context, &id, rank, ranks, NULL, &comm));

  for (int i = 0; i < count; i++) values[i] = (float)(rank + i);
  require(gyre_all_reduce(comm, buffer, buffer, count, GYRE_FLOAT32, GYRE_SUM, NULL, NULL, NULL));
  for (int i = 0; i < count; i++)
    if (values[i] != (float)(4 * i + 6)) exit(1); /* 0 + 1 + 2 + 3, and four times i */
  if (rank == 0) printf("the sum of element 1 over %d ranks is %g\n", ranks, values[1]);

  require(gyre_comm_destroy(comm));
  require(gyre_context_destroy(context));
}

int main(void) {
  int pipes[ranks][2];
  int failed = 0;
  for (int rank = 0; rank < ranks; rank++)
    if (pipe(pipes[rank]) != 0) return 1;
  for (int rank = 0; rank < ranks; rank++) {
    if (fork() == 0) {
      run(rank, pipes);
      exit(0);
    }
  }
  for (int rank = 0; rank < ranks; rank++) {
    int status;
    wait(&status);
    failed |= status;
  }
  return failed != 0;
}
