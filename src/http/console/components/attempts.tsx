/** The attempts of an execution that is tried again. */
import type { ShownExecution } from "../../api/executions.ts";
import { search } from "../client.ts";
import type { Html, View } from "../route.ts";
import { State } from "./states.tsx";
import { Row, Table } from "./table.tsx";
import { Time } from "./values.tsx";

/** The list of attempts, each with the way to its log, metadata and outputs; nothing without a `retry`. */
export function Attempts({ view, execution }: {
  view: View;
  execution: ShownExecution;
}): Html | null {
  const { id, attempt, attempts, retry, dead } = execution;
  if (attempts === undefined || retry === undefined) return null;
  const time = (at: string | undefined) =>
    at === undefined ? "" : <Time at={at} now_ms={view.now_ms} />;
  return (
    <section>
      <h2>Attempts</h2>
      <Table label="Attempts" columns={["Attempt", "State", "Exit code", "Started", "Ended"]}>
        {attempts.map((each) => (
          <Row id={each.execution_id}>
            <td>
              {each.attempt === attempt
                ? <strong>{each.attempt} of {retry.attempts}</strong>
                : (
                  <a href={`executions/${id}${search({ attempt: each.attempt })}`}>
                    {each.attempt} of {retry.attempts}
                  </a>
                )}
            </td>
            <td>
              <State state={each.status} />
            </td>
            <td>{each.exit_code}</td>
            <td>{time(each.started_at)}</td>
            <td>{time(each.ended_at)}</td>
          </Row>
        ))}
      </Table>
      {dead ? <p class="dim">Nothing tries it again.</p> : null}
    </section>
  );
}
