/** `/projects/<name>`: a project: its code, the steps and pipelines found, the problems of its file. */
import type { ShownFailure } from "../../api/failures.ts";
import type { ProjectContents } from "../../api/project_contents.ts";
import type { ShownProject } from "../../api/projects.ts";
import { EXPECTED_NAME, NAME } from "../../../projects/name.ts";
import { ApiCallError, search } from "../client.ts";
import { Action } from "../components/form.tsx";
import { ProjectSecrets } from "../components/project_secrets.tsx";
import { may, Page } from "../components/page.tsx";
import { Badge } from "../components/states.tsx";
import { Notice, Row, Table } from "../components/table.tsx";
import { Facts, Lasting } from "../components/values.tsx";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";

interface ProjectProps {
  view: View;
  name: string;
  /** The commits that a fetch found, by branch. */
  branches?: Record<string, string>;
  refused?: ApiCallError;
  /** A secret that was refused, and its form. */
  refusedSecret?: { error: ApiCallError; form: URLSearchParams };
}

async function ProjectPage(
  { view, name, branches, refused, refusedSecret }: ProjectProps,
): Promise<Html> {
  const at = `projects/${encodeURIComponent(name)}/`;
  const project = await view.api.get<ShownProject>(at);
  const [contents, failures] = await Promise.all([
    view.api.get<ProjectContents>(`${at}contents/`),
    view.api.listIfAllowed<ShownFailure>("failures/", { project: name }),
  ]);
  const failedFetch = failures.find(({ kind }) => kind === "fetch");
  return (
    <Page view={view} title={name} nav="Projects">
      <p class="crumbs">
        <a href="projects">Projects</a>
      </p>
      <Head view={view} project={project} contents={contents} />
      {refused === undefined ? null : <Notice tone="bad">{refused.message}</Notice>}
      {failedFetch === undefined || refused !== undefined
        ? null
        : <FailedFetch view={view} failure={failedFetch} />}
      <Origin project={project} contents={contents} />
      {branches === undefined ? null : <Branches branches={branches} />}
      <Problems title="Problems" tone="bad" problems={contents.problems} />
      <Problems title="Warnings" tone="waiting" problems={contents.warnings} />
      <Steps view={view} name={name} contents={contents} />
      <ProjectSecrets view={view} project={project} refused={refusedSecret} />
      <p>
        <a href={`executions${search({ project: name })}`}>Its executions</a>,{" "}
        <a href={`pipelines${search({ project: name })}`}>its pipelines</a>
      </p>
    </Page>
  );
}

function FailedFetch({ view, failure }: { view: View; failure: ShownFailure }): Html {
  return (
    <Notice tone="bad">
      Fetching has failed <Lasting since={failure.since} now_ms={view.now_ms} />: {failure.detail}
    </Notice>
  );
}

/** The ways in which repositories are read. */
const SOURCES: Record<NonNullable<ShownProject["source"]>, string> = {
  mirror: "a mirror in the data folder",
  github: "the API of GitHub; jobs fetch the code",
  gitlab: "the API of GitLab; jobs fetch the code",
  gitea: "the API of Gitea; jobs fetch the code",
  https: "its server, without a mirror; jobs fetch the code",
};

interface PartProps {
  project: ShownProject;
  contents: ProjectContents;
}

function Head({ view, project: { name, repository }, contents }: PartProps & { view: View }): Html {
  const { commit, problems } = contents;
  return (
    <div class="title">
      <h1>{name}</h1>
      {problems.length > 0
        ? <Badge tone="bad" label="cannot be used" />
        : commit === undefined
        ? <Badge tone="waiting" label="not fetched yet" />
        : <Badge tone="ok" label="ready" />}
      <div class="end">
        {repository !== undefined && may(view, "operate")
          ? (
            <Action view={view} to={`projects/${name}/fetch`} class={commit ? "" : "primary"}>
              Fetch
            </Action>
          )
          : null}
        {may(view, "admin")
          ? <a class="button" href={`triggers/new${search({ project: name })}`}>New trigger</a>
          : null}
      </div>
    </div>
  );
}

function Origin({ project, contents: { commit } }: PartProps): Html {
  const { repository, directory, config_file, config, engine, deploy_key, source } = project;
  return (
    <Facts
      facts={[
        ["Repository", repository],
        ["Folder", directory],
        ["Source", source === undefined ? undefined : SOURCES[source]],
        ["Deploy key", deploy_key],
        [
          "Configuration file",
          config === undefined ? <code>{config_file}</code> : "in the project",
        ],
        ["Engine", <a href="engines">{engine.type}</a>],
        ["Commit", commit === undefined ? undefined : <code>{commit}</code>],
      ]}
    />
  );
}

function Branches({ branches }: { branches: Record<string, string> }): Html {
  return (
    <>
      <h2>Fetched</h2>
      <Table label="Branches" columns={["Branch", "Commit"]}>
        {Object.entries(branches).map(([branch, commit]) => (
          <Row id={`branch-${branch}`}>
            <td>{branch}</td>
            <td>
              <code>{commit}</code>
            </td>
          </Row>
        ))}
      </Table>
    </>
  );
}

interface ProblemsProps {
  title: string;
  tone: "bad" | "waiting";
  problems: ProjectContents["problems"];
}

/** The flaws of the file. Each begins with its line and column. */
function Problems({ title, tone, problems }: ProblemsProps): Html | null {
  if (problems.length === 0) return null;
  return (
    <Notice tone={tone}>
      <h2>{title}</h2>
      <ul>
        {problems.map(({ pointer, detail }) => (
          <li>
            {detail} {pointer === "" ? null : <code>{pointer}</code>}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function Steps({ view, name, contents }: { view: View; name: string; contents: ProjectContents }) {
  const { steps, pipelines, commit } = contents;
  if (commit === undefined) return null;
  return (
    <>
      <h2>Steps</h2>
      {steps.length === 0
        ? <p class="dim">The file declares none.</p>
        : (
          <Table label="Steps" columns={["Step", "Inputs", "Parameters"]}>
            {steps.map((step, index) => (
              <Row id={`step-${index}`}>
                <td>{step.name}</td>
                <td class="wide">{step.inputs.join(", ")}</td>
                <td class="wide">{step.parameters.join(", ")}</td>
              </Row>
            ))}
          </Table>
        )}
      <h2>Pipelines</h2>
      {pipelines.length === 0
        ? <p class="dim">The file declares none.</p>
        : (
          <Table label="Pipelines" columns={["Pipeline", "Nodes"]}>
            {pipelines.map((pipeline, index) => (
              <Row id={`pipeline-${index}`}>
                <td>{pipeline.name}</td>
                <td class="wide">{pipeline.nodes.join(", ")}</td>
              </Row>
            ))}
          </Table>
        )}
      {may(view, "admin") && steps.length > 0
        ? (
          <p>
            <a href={`triggers/new${search({ project: name })}`}>Launch them by a trigger</a>
          </p>
        )
        : null}
    </>
  );
}

async function fetchCode({ view, params: { name } }: Submission<"/:name">): Promise<Submitted> {
  const path = `projects/${encodeURIComponent(name)}/fetch/`;
  const { branches } = await view.api.send<{ branches: Record<string, string> }>("POST", path);
  return { page: await ProjectPage({ view, name, branches }), status: 200 };
}

type OfProject = Submission<"/:name">;

async function setSecret({ view, form, params: { name } }: OfProject): Promise<Submitted> {
  const secret = form.get("secret")?.trim() ?? "";
  // Forms send line breaks as CRLF.
  const value = (form.get("value") ?? "").replaceAll("\r\n", "\n").replace(/\n$/, "");
  const branches = (form.get("branches") ?? "").split(",").map((each) => each.trim())
    .filter(Boolean);
  const body = { value, ...(branches.length > 0 && { branches }) };
  await view.api.send("PUT", secretPath(name, secret), body);
  return { to: `projects/${encodeURIComponent(name)}`, notice: `The secret ${secret} is set` };
}

async function removeSecret({ view, form, params: { name } }: OfProject): Promise<Submitted> {
  const secret = form.get("secret") ?? "";
  await view.api.send("DELETE", secretPath(name, secret));
  return { to: `projects/${encodeURIComponent(name)}`, notice: `The secret ${secret} is removed` };
}

/** @throws {ApiCallError} for what is no name: as a part of a path, it could mean another one */
function secretPath(project: string, secret: string): string {
  if (!NAME.test(secret)) {
    const problems = [{ pointer: "/secrets", detail: EXPECTED_NAME }];
    throw new ApiCallError(422, `Cannot accept the secret: ${EXPECTED_NAME}`, problems);
  }
  return `projects/${encodeURIComponent(project)}/secrets/${encodeURIComponent(secret)}/`;
}

function againWithSecret(
  { view, form, params: { name } }: OfProject,
  error: ApiCallError,
): Promise<Html> {
  return ProjectPage({ view, name, refusedSecret: { error, form } });
}

/** The routes of one project. */
export const projectRoutes = [
  route({
    path: "/projects/:name",
    show: ({ view, params: { name } }) => ProjectPage({ view, name }),
  }),
  route({
    path: "/projects/:name/fetch",
    submit: fetchCode,
    again: ({ view, params: { name } }, refused) => ProjectPage({ view, name, refused }),
  }),
  route({ path: "/projects/:name/secrets", submit: setSecret, again: againWithSecret }),
  route({ path: "/projects/:name/secrets/remove", submit: removeSecret, again: againWithSecret }),
];
