/** Connections to what a cluster without Services cannot reach by itself. */

/** A place that takes connections. */
export interface Place {
  hostname: string;
  port: number;
}

/** Forwards each connection at an address to a place, as a Service does: it chooses one that is there now. */
export class Forwarder implements AsyncDisposable {
  readonly #listener: Deno.TcpListener;
  readonly #connections = new Set<Deno.TcpConn>();
  readonly #served: Promise<void>;

  constructor(at: Place, choose: () => Promise<Place> | Place) {
    this.#listener = Deno.listen(at);
    this.#served = this.#serve(choose);
  }

  async #serve(choose: () => Promise<Place> | Place): Promise<void> {
    const open = new Set<Promise<void>>();
    for await (const client of this.#listener) {
      this.#connections.add(client);
      const forwarding = this.#forward(client, choose).finally(() => open.delete(forwarding));
      open.add(forwarding);
    }
    await Promise.all(open);
  }

  async #forward(client: Deno.TcpConn, choose: () => Promise<Place> | Place): Promise<void> {
    const place = await choose();
    const server = await Deno.connect(place).catch(() => undefined);
    if (server !== undefined) {
      this.#connections.add(server);
      const keep = { preventClose: true, preventCancel: true, preventAbort: true };
      const both = [
        client.readable.pipeTo(server.writable, keep),
        server.readable.pipeTo(client.writable, keep),
      ];
      // HTTP closes no half of a connection.
      await Promise.race(both).catch(() => {});
      this.#close(server);
      this.#close(client);
      await Promise.allSettled(both);
    } else this.#close(client);
  }

  #close(connection: Deno.TcpConn): void {
    if (!this.#connections.delete(connection)) return;
    try {
      connection.close();
    } catch {
      // The end of its stream has closed it.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#connections) this.#close(connection);
    await this.#served;
  }
}
