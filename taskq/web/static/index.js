// Says who one is. All links and requests are relative: the console may lie under any path.

const who = document.getElementById("who");
const out = document.getElementById("out");
const problem = document.getElementById("problem");

async function show() {
  const answer = await fetch("api/session", { cache: "no-store" });
  if (answer.status === 401) {
    location.replace("login");
    return;
  }
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail);
  const only = body.read_only ? " This console can only look." : "";
  who.textContent = `Signed in as ${body.name}, ${body.role}.${only}`;
  out.hidden = !body.session;
}

async function leave() {
  out.disabled = true;
  await fetch("api/session/end", { method: "POST" });
  location.replace("login");
}

function tell(error) {
  problem.textContent = error instanceof TypeError ? "The server cannot be reached." : error.message;
  problem.hidden = false;
  out.disabled = false;
}

out.addEventListener("click", () => leave().catch(tell));
show().catch(tell);
