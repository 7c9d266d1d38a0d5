/** `/projects`: all projects, and the form of a new one. */
import type { ShownFailure } from "../../api/failures.ts";
import type { ShownProject } from "../../api/projects.ts";
import { type ApiCallError, search } from "../client.ts";
import { CsrfField, describedBy, Field, Input } from "../components/form.tsx";
import { may, Page } from "../components/page.tsx";
import { Badge } from "../components/states.tsx";
import { Empty, More, Notice, Row, Table } from "../components/table.tsx";
import { Lasting } from "../components/values.tsx";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";

interface ProjectsProps {
  view: View;
  /** The form that was refused. */
  form?: URLSearchParams;
  refused?: ApiCallError;
}

async function ProjectsPage({ view, form, refused }: ProjectsProps): Promise<Html> {
  const cursor = view.query.get("cursor") ?? undefined;
  const [{ results, cursor: next }, failures] = await Promise.all([
    view.api.list<ShownProject>("projects/", { cursor }),
    view.api.listIfAllowed<ShownFailure>("failures/"),
  ]);
  return (
    <Page view={view} title="Projects" nav="Projects">
      <h1>Projects</h1>
      {results.length === 0
        ? (
          <Empty title="There is no project yet">
            <p>
              A project is a git repository, a folder, or a configuration alone. Its file{" "}
              <code>valohai.yaml</code> names the steps that triggers launch.{" "}
              <a href="docs/projects">How to write it</a>
            </p>
          </Empty>
        )
        : (
          <Table label="Projects" columns={["Name", "State", "Code", "Engine"]}>
            {results.map(({ name, repository, directory, engine }) => (
              <Row id={name}>
                <td>
                  <a href={`projects/${name}`}>{name}</a>
                </td>
                <td class="wide">
                  <Failures
                    view={view}
                    failures={failures.filter((each) => each.project === name)}
                  />
                </td>
                <td class="wide">{repository ?? directory ?? "none"}</td>
                <td>{engine.type}</td>
              </Row>
            ))}
          </Table>
        )}
      {next === undefined
        ? null
        : <More href={`projects${search({ cursor: next })}`} label="More" />}
      {may(view, "admin")
        ? <ProjectForm view={view} form={form} refused={refused} isOpen={results.length === 0} />
        : null}
    </Page>
  );
}

/** The failures of a project. */
function Failures({ view, failures }: { view: View; failures: readonly ShownFailure[] }): Html {
  if (failures.length === 0) return <span class="dim">no failure known</span>;
  return (
    <>
      {failures.map(({ kind, since, detail }) => (
        <div>
          <Badge tone="bad" label={kind === "fetch" ? "cannot be fetched" : "cannot be used"} />
          {" "}
          <Lasting since={since} now_ms={view.now_ms} />
          <br />
          <span class="dim">{firstLine(detail)}</span>
        </div>
      ))}
    </>
  );
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

interface FormProps {
  view: View;
  form: URLSearchParams | undefined;
  refused: ApiCallError | undefined;
  isOpen: boolean;
}

/** The fields of a project's code, each with the names of its problems. */
const FIELDS = {
  name: ["name"],
  code: ["repository", "directory"],
  source: ["source"],
  api_url: ["api_url"],
  config: ["config"],
};

/** The ways in which a repository is read. */
const SOURCES: [value: string, label: string][] = [
  ["", "As the service chooses"],
  ["mirror", "With git: a copy on this machine"],
  ["github", "By the API of GitHub"],
  ["gitlab", "By the API of GitLab"],
  ["gitea", "By the API of Gitea or Forgejo"],
  ["https", "From any https address, without git"],
];

function ProjectForm({ view, form, refused, isOpen }: FormProps): Html {
  const problemsOf = (field: keyof typeof FIELDS) =>
    refused?.problems.filter(({ pointer }) =>
      FIELDS[field].includes(pointer.split("/")[1] ?? "")
    ) ?? [];
  const typed = (name: string) => form?.get(name) ?? undefined;
  const others =
    refused?.problems.filter(({ pointer }) =>
      !Object.values(FIELDS).flat().includes(pointer.split("/")[1] ?? "")
    ) ?? [];
  const isTold = refused !== undefined && (refused.problems.length === 0 || others.length > 0);
  return (
    <details open={isOpen || refused !== undefined}>
      <summary class="button">New project</summary>
      <form method="post" action="projects" class="panel">
        <CsrfField view={view} />
        {isTold
          ? (
            <Notice tone="bad">
              {refused.summary}
              {others.map(({ detail }) => <div>{detail}</div>)}
            </Notice>
          )
          : null}
        <Input
          label="Name"
          id="name"
          hint="Such as digits"
          problems={problemsOf("name")}
          required
          value={typed("name")}
        />
        <Input
          label="Repository or folder"
          id="code"
          hint="Such as https://git.example.com/digits.git, or the absolute path of a folder. None where the configuration below is all"
          problems={problemsOf("code")}
          value={typed("code")}
        />
        <SourceFields typed={typed} problemsOf={problemsOf} />
        <button class="primary">Add the project</button>
      </form>
    </details>
  );
}

interface SourceProps {
  typed(name: string): string | undefined;
  problemsOf(field: keyof typeof FIELDS): ApiCallError["problems"];
}

/** The fields that few projects need. */
function SourceFields({ typed, problemsOf }: SourceProps): Html {
  const isUsed = ["source", "api_url", "config"].some((name) => typed(name));
  return (
    <details open={isUsed}>
      <summary>How it is read</summary>
      <Field
        label="Repository is read"
        id="source"
        hint="By an API or without git, jobs of Slurm and Kubernetes fetch the code themselves"
        problems={problemsOf("source")}
      >
        <select id="source" name="source" aria-describedby={describedBy("source")}>
          {SOURCES.map(([value, label]) => (
            <option value={value} selected={value === typed("source")}>{label}</option>
          ))}
        </select>
      </Field>
      <Input
        label="Address of the API"
        id="api_url"
        hint="Where it is not the usual one, such as https://git.example.com/api/v1"
        problems={problemsOf("api_url")}
        value={typed("api_url")}
      />
      <Field
        label="Configuration"
        id="config"
        hint="The content of valohai.yaml, in place of the file"
        problems={problemsOf("config")}
      >
        <textarea
          id="config"
          name="config"
          rows={4}
          spellcheck={false}
          aria-describedby={describedBy("config")}
        >
          {typed("config")}
        </textarea>
      </Field>
    </details>
  );
}

async function create({ view, form }: Submission): Promise<Submitted> {
  const name = form.get("name")?.trim() ?? "";
  const code = form.get("code")?.trim() ?? "";
  // A repository at a path is written as file:///….
  const place = code.startsWith("/") ? { directory: code } : code && { repository: code };
  const read = ["source", "api_url", "config"].flatMap((field) => {
    const text = form.get(field)?.trim();
    return text ? [[field, text]] : [];
  });
  await view.api.send("POST", "projects/", {
    name,
    ...place || {},
    ...Object.fromEntries(read),
  });
  return { to: `projects/${name}`, notice: "The project is added" };
}

/** The route of the list. */
export const projectsRoutes = [
  route({
    path: "/projects",
    show: ({ view }) => ProjectsPage({ view }),
    submit: create,
    again: ({ view, form }, refused) => ProjectsPage({ view, form, refused }),
  }),
];
